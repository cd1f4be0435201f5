import { command } from '../../../scripts/command-line/command.ts'
import { flag, integer, text } from '../../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:search-quality --',
  description:
    "Measures how well search ranks products: NDCG@10 on the relevance judgments of the Home Depot competition. The catalogue consists of the competition's product titles. Shows what each step adds to a plain multi_match, and the results for the same queries with one random mistake each. The boosts were chosen on every second query; the results of these queries and of the others are also shown separately. Needs MILLRACE_DATA.",
  options: {
    queries: integer('Approximate number of queries, spread evenly over all queries; 0 uses all.', { default: 0, min: 0 }),
    constants: flag(
      'Compares values for the constant of the text factor, with all other factors drawn at random, and skips the usual measurement.',
    ),
    seed: integer('Seed of the random mistakes.', { default: 7, min: 0 }),
    note: text('Appends the results to bench/results.md under this note.'),
  },
  examples: [['--queries 500', 'Runs a short measurement.']],
})
