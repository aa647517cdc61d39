# Homebrew formula of rawko @VERSION@ (Linux; the archive carries the binary).
class Rawko < Formula
  desc "Statechart runtime for AI agents"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]
  url "@URL@"
  sha256 "@SHA256@"

  depends_on :linux
  depends_on arch: :@BREW_ARCH@

  def install
    bin.install "bin/rawko"
    doc.install "README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/rawko --version")
  end
end
