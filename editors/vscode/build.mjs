// Builds the extension to a package: one bundled script, the schema, the manifest. Needs no network.
// Arguments: the folder with esbuild and vsce, the package to write, the rawko binary that prints the schema.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [tools, output, rawko] = process.argv.slice(2).map((path) => resolve(path));
const here = fileURLToPath(new URL('.', import.meta.url));
const stage = mkdtempSync(join(tmpdir(), 'rawko-vsix-'));
try {
  const bin = (name) => join(tools, 'node_modules/.bin', name);
  for (const file of ['package.json', 'README.md']) cpSync(join(here, file), join(stage, file));
  cpSync(join(here, '../../LICENSE-MIT'), join(stage, 'LICENSE'));
  mkdirSync(join(stage, 'dist'));
  writeFileSync(join(stage, 'dist/rawko.schema.json'), execFileSync(rawko, ['schema']));
  execFileSync(
    bin('esbuild'),
    [join(here, 'src/extension.js'), '--bundle', '--platform=node', '--format=cjs', '--external:vscode', '--minify', `--outfile=${join(stage, 'dist/extension.js')}`],
    { stdio: 'inherit', env: { ...process.env, NODE_PATH: join(tools, 'node_modules') } },
  );
  // Links in the description are relative to the repository, which has no address yet.
  const flags = ['--no-dependencies', '--allow-missing-repository', '--no-rewrite-relative-links', '--skip-license'];
  execFileSync(bin('vsce'), ['package', ...flags, '--out', output], { cwd: stage, stdio: 'inherit' });
} finally {
  rmSync(stage, { recursive: true, force: true });
}
