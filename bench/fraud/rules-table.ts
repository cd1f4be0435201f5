import { row } from '../harness/table.ts'
import { measureRules } from './rules.ts'

const ms = (value: number) => value.toFixed(3)

/** Measures the evaluation of 500 rules, and prints the table. */
export function rulesTable(say: (text: string) => void): void {
  const { compileMs, matches, all, fastest } = measureRules()
  say(row(['500 rules, ms per transaction', 'median', 'P99']))
  say(row(['---', '--:', '--:']))
  say(row(['every evaluation', ms(all.median), ms(all.p99)]))
  say(row(['fastest of 15 evaluations of each transaction', ms(fastest.median), ms(fastest.p99)]))
  say(`\nCompiling the rules took ${ms(compileMs)} ms. ${matches.toFixed(1)} rules match a transaction on average.`)
}
