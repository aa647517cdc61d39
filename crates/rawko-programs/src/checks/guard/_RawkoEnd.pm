# Loaded by rawko in the control run of a check: a test proves that it came to its end. See `exits.py`.
package _RawkoEnd;

my ($mark, $nonce);
my $pid = $$;

if ($0 =~ /\.t$/) {
    (my $folder = __FILE__) =~ s{/[^/]*$}{};
    my $text = do { local $/; open(my $file, '<', "$folder/guard.json") or die $!; <$file> };
    my ($ends) = $text =~ /"ends":"([^"]*)"/;
    ($nonce) = $text =~ /"nonce":"(\w+)"/;
    # The same name if the test starts itself again.
    $mark = "$ends/$pid-perl";
    if (open(my $file, '>', "$mark.begun")) { print $file "$pid ", getppid(), "\nperl $0"; close $file }
    else { undef $mark }
    # Programs that a test starts are not guarded.
    delete $ENV{PERL5OPT} if ($ENV{PERL5OPT} //= '') !~ s/-I\Q$folder\E\s+-M_RawkoEnd\s*// || $ENV{PERL5OPT} eq '';
}

# Defined first, so it runs last.
END {
    if (defined $mark && $$ == $pid) {
        local ($?, $!);
        if (open(my $file, '>', "$mark.ended")) { print $file $nonce; close $file }
    }
}

1;
