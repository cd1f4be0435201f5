/** Short texts, each with the name of its language. */
export const samples: readonly (readonly [string, string])[] = [
  ['python', 'import os\n\ndef main(argv):\n    for name in argv:\n        print(name)\n'],
  ['javascript', "const fs = require('fs')\n\nmodule.exports = (name) => fs.readFileSync(name)\n"],
  ['typescript', 'export interface User {\n  readonly id: number\n  name?: string\n}\n'],
  ['go', 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("hi")\n}\n'],
  ['rust', 'fn main() {\n    let mut x = 1;\n    println!("{}", x);\n}\n'],
  ['c', '#include <stdio.h>\n\nint main(void) {\n  printf("hi\\n");\n}\n'],
  ['cpp', '#include <iostream>\n\nint main() {\n  std::cout << "hi" << std::endl;\n}\n'],
  ['java', 'public class Main {\n  public static void main(String[] args) {\n    System.out.println("hi");\n  }\n}\n'],
  ['sql', "SELECT id, name FROM users WHERE name LIKE 'a%' ORDER BY id;\n"],
  ['json', '{\n  "name": "millrace",\n  "private": true\n}\n'],
  ['yaml', 'version: 2\njobs:\n  - name: build\n    image: node\n'],
  ['html', '<!DOCTYPE html>\n<html><body><p>hi</p></body></html>\n'],
  ['bash', '#!/bin/bash\nset -e\nfor f in *.txt; do\n  echo "$f"\ndone\n'],
  ['dockerfile', 'FROM node:24\nWORKDIR /app\nCOPY . .\nRUN npm ci\nCMD ["node", "main.js"]\n'],
  ['diff', '--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n+two\n three\n'],
]
