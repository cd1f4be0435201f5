import { command } from '../../../scripts/command-line/command.ts'
import { text } from '../../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:recs-quality --',
  description:
    'Measures how often channels of recommendations name the next film that a user likes: hit@20 and NDCG@20 on MovieLens in order of time, all and by the number of earlier interactions. Each event is learned before the next question. The lists of the service stand beside them: by rules, and by a model that is trained on the first 64,000 ratings. Needs MILLRACE_DATA.',
  options: {
    note: text('Appends the results to bench/results.md under this note.'),
  },
})
