import { command } from '../../../scripts/command-line/command.ts'
import { text } from '../../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:recs-quality --',
  description:
    'Measures how often several recommendation methods predict the next film that a user likes. The figures are hit@20 and NDCG@20 on MovieLens in chronological order, in total and by the number of earlier interactions. All methods except the frozen ones learn each event before the next test case. The methods are compared with the two kinds of lists that the service makes: lists by rules, and lists by a model that is trained on the first 64,000 ratings. The folder that MILLRACE_DATA names must contain MovieLens (default: ../shared/data).',
  options: {
    note: text('Appends the results to bench/results.md under this note.'),
  },
})
