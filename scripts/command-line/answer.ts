/**
 * Handles `--help` and wrong options for run.mjs, which starts this program when its own Node version cannot load
 * TypeScript: `node scripts/command-line/answer.ts DECLARATION [argument ...]`. Prints nothing if the command line is
 * valid.
 */
import { answerOf } from './check.ts'

const [declaration, ...args] = process.argv.slice(2)
const { text, exitCode } = await answerOf(declaration, args)
const output = exitCode === 0 ? process.stdout : process.stderr
output.write(text)
process.exitCode = exitCode
