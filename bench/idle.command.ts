import { command } from '../scripts/command-line/command.ts'
import { number, text } from '../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:idle --',
  description:
    'Starts everything as npm start does, without the demonstration, in a folder of its own; waits until it has settled, and measures the CPU and memory that it takes. Linux only.',
  options: {
    settle: number('Seconds before the measurement.', { default: 60 }),
    seconds: number('Seconds of the measurement.', { default: 120, min: 1 }),
    fixtures: text('Topologies and sinks that run besides, as further services would bring them.', {
      default: '0x0',
      placeholder: 'TOPOLOGIESxSINKS',
    }),
  },
  examples: [['--fixtures 15x25', 'with 15 topologies and 25 sinks more']],
  check: ({ fixtures }) =>
    /^\d+x\d+$/.test(fixtures) ? undefined : `--fixtures takes two numbers, such as 15x25 (15 topologies, 25 sinks), not ${fixtures}`,
})
