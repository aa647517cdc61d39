cd src && git -c core.pager=cat log --oneline | awk '{print $1}' > out.txt; find . -name '*.rs' -exec sed -i "s/a/${b:-c}/" {} + || { echo "$(date +%s)"; }
