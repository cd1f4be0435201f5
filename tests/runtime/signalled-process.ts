/** A process that reports each of its steps in a line and starts when it reads a line. */
import { stopSignals } from '../../runtime/stop-signals.ts'

const signals = stopSignals()
process.stdout.write('starting\n')
process.stdin.once('data', () => {
  signals.stopWith(() => process.stdout.write('stopping\n'))
  process.stdout.write('started\n')
})
