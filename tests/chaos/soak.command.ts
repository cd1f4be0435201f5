import { command } from '../../scripts/command-line/command.ts'
import { number } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run test:soak --',
  description:
    'Runs three workers with steady input while connections are cut and workers are fenced, and prints how the memory and the number of open files of each worker change over time. The exit code is 1 when either grows too much or an output is wrong. Linux only.',
  options: {
    minutes: number('How long the input lasts.', { default: 30, min: 0.1 }),
    rate: number('Number of payments per second.', { default: 200, min: 1 }),
  },
  examples: [['--minutes 5', 'A short run.']],
})
