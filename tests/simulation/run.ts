/**
 * `npm run test:simulation`: runs the worlds of many seeds and prints each wrong output with its seed, and at the end a
 * hash of everything that has happened, which is the same wherever the same code runs the same seeds.
 */
import { createHash } from 'node:crypto'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import declaration from './run.command.ts'
import { simulate } from './world.ts'

const MINUTE_MS = 60_000
const SECOND_MS = 1_000

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

async function main(): Promise<number> {
  const { seeds, from, minutes, topology: subject, trace, 'until-wrong': untilWrong } = commandLine(declaration)
  const startedAt = performance.now()
  const hash = createHash('sha256')
  let runs = 0
  let events = 0
  let wrong = 0
  for (let seed = from; seed < from + seeds; seed++) {
    if (minutes !== undefined && performance.now() - startedAt > minutes * MINUTE_MS) break
    const outcome = await simulate(seed, { subject, trace: trace ? (line) => process.stdout.write(line) : undefined })
    hash.update(outcome.digest)
    runs++
    events += outcome.events
    if (outcome.faults.length === 0) continue
    wrong++
    say(`seed ${seed}, after ${(outcome.lasted / SECOND_MS).toFixed(1)} simulated seconds:\n  ${outcome.faults.join('\n  ')}`)
    if (untilWrong) break
  }
  const seconds = (performance.now() - startedAt) / SECOND_MS
  say(`${runs} runs, ${events} events, ${wrong} wrong, in ${seconds.toFixed(0)} s`)
  say(`trace ${hash.digest('hex')}`)
  return wrong === 0 ? 0 : 1
}

await runMain(main)
