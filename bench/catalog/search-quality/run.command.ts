import { command } from '../../../scripts/command-line/command.ts'
import { flag, integer, text } from '../../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:search-quality --',
  description:
    'Measures how well search orders products: NDCG@10 on the judgments of the Home Depot competition, whose titles are the catalogue. Shows what each step adds to a plain multi_match, the same queries with one random mistake each, and apart the every second query that was used to choose the boosts. Needs MILLRACE_DATA.',
  options: {
    queries: integer('Queries to ask, spread over all; 0 for all of them.', { default: 0, min: 0 }),
    constants: flag('Compares constants of the text factor instead, with all other factors drawn at random.'),
    seed: integer('Seed of the mistakes.', { default: 7, min: 0 }),
    note: text('Appends the results to bench/results.md under this note.'),
  },
  examples: [['--queries 500', 'Runs a short measurement.']],
})
