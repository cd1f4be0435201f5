import { command } from '../../scripts/command-line/command.ts'
import { integer, number } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:snippets --',
  description:
    'Measures concurrent creations and reads of snippets end to end at their average rates. Compares them with lower bounds from the same run: writing a durable file of the same size, and the smallest response of the same API. Also measures the freshness of view counts at the same time, and then the memory growth of the API under many concurrent contents of the maximum size.',
  options: {
    seconds: integer('Measurement time for creations and reads.', { default: 30, min: 3 }),
    times: number('Factor by which the average rates are multiplied.', { default: 1, min: 0.1 }),
  },
})
