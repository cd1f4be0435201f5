/**
 * A process that reports each of its steps in a line. At each line that it reads, the next of its two parts has
 * started.
 */
import { createInterface } from 'node:readline'
import { stopSignals } from '../../runtime/stop-signals.ts'

const parts = [stopSignals(), stopSignals()].entries()
process.stdout.write('starting\n')
createInterface({ input: process.stdin }).on('line', () => {
  const [index, part] = parts.next().value!
  process.stdout.write(`started ${index}\n`)
  part.stopWith(() => process.stdout.write(`stopping ${index}\n`))
})
