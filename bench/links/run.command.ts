import { command } from '../../scripts/command-line/command.ts'
import { choice, flag, integer } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:links --',
  description:
    'Measures the time to create a link, and the parts of that time, at a fixed rate. Then it measures redirects in a closed loop and compares them with two peers. One peer is nginx with the same links in its configuration, as the upper bound. The other is a redirect service in Go on the same Redis. The benchmark also measures redirects while Kafka is slow, while Kafka is stopped, and while the click buffer is full. Missing peers are skipped. Linux only, because CPU times come from /proc.',
  options: {
    rate: integer('Links created per second.', { default: 500, min: 1 }),
    seconds: integer('Measurement time for link creation.', { default: 20, min: 1 }),
    rounds: integer('Rounds of redirects; the medians are reported.', { default: 3, min: 1 }),
    connections: integer('Number of connections for redirects.', { default: 64, min: 1 }),
    'no-peers': flag('Skips nginx and Go.'),
    only: choice('Runs only this part.', ['creates', 'redirects']),
  },
  examples: [['--only redirects --rounds 1 --no-peers', 'Runs a short measurement of redirects.']],
})
