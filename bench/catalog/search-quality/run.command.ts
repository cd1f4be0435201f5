import { command } from '../../../scripts/command-line/command.ts'
import { flag, integer, text } from '../../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:search-quality --',
  description:
    'Measures how well search orders products: NDCG@10 on the judgments of the Home Depot competition, whose titles are the catalogue. Shows what each step adds to a plain multi_match, and the results for the same queries with one random mistake each. Every second query was used to choose the boosts and is also shown separately. Needs MILLRACE_DATA.',
  options: {
    queries: integer('Number of queries, spread evenly over all of them; 0 uses all.', { default: 0, min: 0 }),
    constants: flag('Compares constants of the text factor instead, with all other factors drawn at random.'),
    seed: integer('Seed of the mistakes.', { default: 7, min: 0 }),
    note: text('Appends the results to bench/results.md under this note.'),
  },
  examples: [['--queries 500', 'Runs a short measurement.']],
})
