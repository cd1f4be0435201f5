import { command } from '../../scripts/command-line/command.ts'
import { choice, flag, integer } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:links --',
  description:
    'Measures how long a link takes to be created, with its parts, at a fixed rate; and redirects, closed loop, beside nginx with the same links in its configuration (the upper bound) and a redirect in Go on the same Redis; and with Kafka slow, stopped, and the buffer of clicks full. A peer that is not installed is left out. Linux only: CPU times come from /proc.',
  options: {
    rate: integer('Creates per second.', { default: 500, min: 1 }),
    seconds: integer('How long creates are measured.', { default: 20, min: 1 }),
    rounds: integer('Rounds of redirects; medians are shown.', { default: 3, min: 1 }),
    connections: integer('Connections of the load on redirects.', { default: 64, min: 1 }),
    'no-peers': flag('Leaves out nginx and Go.'),
    only: choice('Only this part.', ['creates', 'redirects']),
  },
  examples: [['--only redirects --rounds 1 --no-peers', 'A quick look at redirects.']],
})
