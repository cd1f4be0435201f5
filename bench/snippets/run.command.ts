import { command } from '../../scripts/command-line/command.ts'
import { integer, number } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:snippets --',
  description:
    'Measures creations and reads of snippets at once through the whole path, at average rates, beside the limits in the same run: a durable file of the same size, and the smallest answer of the same API. Then it measures how fresh views are, and by how much the API grows when many of the largest contents come and go at once.',
  options: {
    seconds: integer('How long creations and reads are measured.', { default: 30, min: 3 }),
    times: number('Multiple of the average rates.', { default: 1, min: 0.1 }),
  },
})
