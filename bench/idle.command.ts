import { command } from '../scripts/command-line/command.ts'
import { number } from '../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:idle --',
  description:
    'Starts everything as npm start does, without the demonstration, in a folder of its own; waits until it has settled, and measures the CPU and memory that it takes. Linux only.',
  options: {
    settle: number('Seconds before the measurement.', { default: 60 }),
    seconds: number('Seconds of the measurement.', { default: 120, min: 1 }),
  },
})
