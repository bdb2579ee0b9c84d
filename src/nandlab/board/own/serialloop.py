# SPDX-License-Identifier: GPL-2.0-or-later
"""What a board's shell runs at the other end of a serial line, and the lines that it reads."""

from __future__ import annotations

import hashlib

LOOP = r"""
s(){ h=$(md5sum<<E
$1
E
);h=${h%"${h#????????}"};}
e(){ s "$1";echo "@$h $1";}
a(){ while [ $j -lt $1 ]&&[ $c -lt 12 ];do m=$m,$((j-10000));j=$((j+1));c=$((c+1));done;}
k(){ v=;c=0;j=10000;md5sum p.$n.*>z 2>/dev/null
while read -r h f;do x=${f##*.};y=${f%.*};y=${y##*.}
case $h in "$x"*)a $y;j=$((y+1));;*)v="$v $f";;esac;done<z
a $((10000+i));[ "$v" ]&&rm -f $v;}
x(){ k;[ "$m" ]&&return
cat p.$n.*>z;rm -f p.*;h=$(md5sum<z);case $h in "$1"*);;*)m=,0;return;;esac
base64 -d<z>q
{ IFS= read -r z;(eval "$z");}<q>o 2>&1
x=$?;l=$n;u=;}
f(){ u=$1;t=0;y=;[ -s o ]||return
{ base64<o|tr -d '\n'|fold -w $1;echo;}>b;t=$(wc -l<b);[ $((t)) = 1 ]&&read -r y<b;}
w(){ m=;[ "$n" = "$l" ]||x $2;[ "$m$u" = $1 ]||[ "$m" ]||f $1;}
g(){ set -- $d;j=$1;tail -n +$((j+1)) b|head -n $2|while read -r y
do case $i in all|*,$j,*)echo "d $n $3 $j $y">g.$((10000+j));;esac;j=$((j+1));done
md5sum g.* 2>/dev/null|while read -r h f;do read -r y<$f;echo "@${h%"${h#????????}"} $y";done
rm -f g.*;e "z $n $3";}
l=-
while read -r k n i c d;do
case $k in
p)case $n$i$c in *[!0-9a-f]*);;*)case $i.$c in
1[0-9][0-9][0-9][0-9].????????)printf '%s\n' "$d">p.$n.$i.$c;;esac;;esac;;
r|g|q)s "$k $n $i $d";[ "$h" = "$c" ]||continue
case $k in
r)w $d;d=${d##* };if [ "$m" ];then e "m $n $d $m";else e "r $n $d $x $((t)) $y";fi;;
g)g;;
q)break;;
esac;;esac;done
"""
"""What the board's shell runs. Lines come as KIND NUMBER WORD SUM DATA: "p" is a part of a message;
"r" has it run, and tells how it ended and how many lines of that width it printed, or which parts
are missing; "g" prints some of these lines; "q" ends. A message's first line is a command, the rest
its standard input. Processes are what a board is slow at, so parts are kept as they come: one
process finds the sums of all, when "r" asks for them, and those that are wrong are gone. "r" has
the sum of the whole message too, which tells a part that came under another's number."""


def compute_line_checksum(text: str) -> str:
    """What the loop knows a broken line by: the begin of the MD5 of the text as a line."""
    return hashlib.md5(f"{text}\n".encode()).hexdigest()[:8]


def format_message_part(number: int, index: int, data: str) -> bytes:
    """A part of a message, by the message's number and its own."""
    return f"p {number} {index} {compute_line_checksum(data)} {data}\n".encode()


def format_request_line(kind: str, number: int, word: str, data: str = "-") -> bytes:
    """A request of a message that the board has: its kind is "r", "g" or "q"."""
    head = f"{kind} {number} {word}"
    return f"{head} {compute_line_checksum(f'{head} {data}')} {data}\n".encode()
