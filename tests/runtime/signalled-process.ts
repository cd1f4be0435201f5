/**
 * A process with two parts that writes a line for each of its steps. Each line on its standard input makes it treat the
 * next part as started.
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
