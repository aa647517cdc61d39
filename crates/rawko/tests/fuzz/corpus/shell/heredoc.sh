for f in a b; do case "$f" in a*) cat <<X > "$f"
$((1 + 2)) `ls`
X
;; esac; done; if [[ -f x ]]; then sh -c 'rm -rf "$1"' _ y & fi
