/**
 * Handles `--help` and wrong options for run.mjs. If run.mjs runs on a Node version that cannot load TypeScript, it
 * starts this program with Node 24: `node scripts/command-line/answer.ts DECLARATION [argument ...]`. Prints nothing if
 * the command line is valid.
 */
import { answerOf } from './check.ts'

const [declaration, ...args] = process.argv.slice(2)
const { text, exitCode } = await answerOf(declaration, args)
const output = exitCode === 0 ? process.stdout : process.stderr
output.write(text)
process.exitCode = exitCode
