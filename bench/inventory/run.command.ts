import { command } from '../../scripts/command-line/command.ts'
import { flag, integer } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:inventory --',
  description:
    'Measures reservations, deductions and releases of stock at a fixed rate, and the parts of their latency. The operations use many variants, first right after the start and again after a warm-up, and then one variant. Compares the results with those of conditional updates in PostgreSQL, and of a bare Redis script as the upper bound. Missing peers are skipped. Linux only, because CPU times come from /proc.',
  options: {
    rate: integer('Operations per second.', { default: 500, min: 1 }),
    seconds: integer('Duration of each measurement.', { default: 20, min: 1 }),
    variants: integer('Number of variants in all measurements except those on one variant.', { default: 10_000, min: 1 }),
    open: integer('Number of open reservations of the single variant in a further measurement, without peers. 0 skips it.', {
      default: 0,
      min: 0,
    }),
    'no-peers': flag('Skips PostgreSQL and Redis.'),
  },
  examples: [
    ['--seconds 5 --no-peers', 'Runs a short measurement.'],
    ['--open 150000 --no-peers', 'Includes a variant with very many open reservations.'],
  ],
})
