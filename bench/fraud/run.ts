import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { row } from '../harness/table.ts'
import { measureRules } from './rules.ts'
import declaration from './run.command.ts'

/** `npm run bench:fraud`: see run.command.ts. */
const print = (line: string) => process.stdout.write(`${line}\n`)
const ms = (value: number) => value.toFixed(3)

async function main(): Promise<void> {
  commandLine(declaration)
  const { compileMs, matches, all, fastest } = measureRules()
  print(row(['500 rules, ms per transaction', 'median', 'P99']))
  print(row(['---', '--:', '--:']))
  print(row(['every evaluation', ms(all.median), ms(all.p99)]))
  print(row(['fastest of 15 evaluations of each transaction', ms(fastest.median), ms(fastest.p99)]))
  print(`\nCompiling the rules took ${ms(compileMs)} ms. ${matches.toFixed(1)} rules match a transaction on average.`)
}

await runMain(main)
