import { setTimeout as delay } from 'node:timers/promises'
import { bufferedOutput, directOutput, STDOUT } from '../../runtime/log-output.ts'

/**
 * This process logs to standard output for a while. In most tests, these writes fail. The process then reports on
 * standard error that it is still running, and exits.
 */
const output = process.argv[2] === 'direct' ? directOutput(STDOUT) : bufferedOutput(STDOUT)
for (let line = 0; line < 30; line++) {
  output.write(`line ${line}\n`)
  await delay(10)
}
output.write('the last line\n')
process.stderr.write('still running')
process.exit(0)
