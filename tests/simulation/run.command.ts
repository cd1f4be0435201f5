import { command } from '../../scripts/command-line/command.ts'
import { choice, flag, integer, number, text } from '../../scripts/command-line/option.ts'

/** Repeats names from `plan.ts`. Importing that file would load the engine before this command can print its help. */
const SUBJECTS = ['counter', 'bank', 'shop', 'trends'] as const
const MAX_SEED = 2 ** 31

export default command({
  call: 'npm run test:simulation --',
  description:
    'Runs workers with the real Kafka client against simulated brokers, on one thread and without real I/O. A seed determines everything: the same seed repeats the same run step by step. Compares each output with an offline computation. The exit code is 1 when any output differs.',
  options: {
    seeds: integer('Number of runs. Default: 1000, or 1 with --plan.', { min: 1 }),
    from: integer('Seed of the first run. Each further run uses the next seed.', { default: 1, max: MAX_SEED }),
    topology: choice('What the workers run.', SUBJECTS, { default: 'counter' }),
    minutes: number('Starts no further run after this many minutes. Default: no limit.', { min: 0 }),
    'until-wrong': flag('Ends at the first wrong output.'),
    shrink: flag('Reduces each wrong run to the parts that are needed to show the error, and prints these parts as a plan.'),
    plan: text('Runs the plan in this file, as `--shrink` prints it. Further runs differ only in their delays.', { placeholder: 'FILE' }),
    trace: flag('Prints every event of every run.'),
  },
  examples: [
    ['--seeds 10000 --from 5000', 'Ten thousand runs.'],
    ['--seeds 1 --from 46 --trace', 'Shows what happens in the run of seed 46.'],
    ['--seeds 1 --from 46 --shrink', 'Reduces the run of seed 46, if its output is wrong.'],
  ],
})
