import { command } from '../../scripts/command-line/command.ts'
import { choice, choices, flag, integer, text } from '../../scripts/command-line/option.ts'
import { PUBLIC_PROFILES } from '../../tools/people/profiles.ts'
import { PART_NAMES } from './part-names.ts'

export default command({
  call: 'npm run bench:matches --',
  description:
    'Measures the match feed on separate servers with an API, a deciding worker and a bulk worker, and compares its parts with peers in the same run. The parts are: swipes (compared with a Go server that waits for all in-sync replicas), feeds with a kept stack (an empty Hono route), feeds that search (Redis GEOSEARCH with the same filters), the time from a mutual swipe to its push, match-pairs (Kafka Streams on job J3), swipes that all have the same target, the Redis memory per user and the disk space per swipe, and the bytes and false positives of seen-sets. Users are the public profiles, or generated ones if these are missing. Linux only, because CPU times come from /proc.',
  options: {
    part: choices('Parts to measure.', PART_NAMES, { default: 'all' }),
    profiles: integer('Number of users.', { default: PUBLIC_PROFILES, min: 1_000 }),
    seconds: integer('Duration of one round at a fixed rate.', { default: 15, min: 1 }),
    rounds: integer('Rounds per contender; the medians and the spread are reported.', { default: 3, min: 1 }),
    swipes: integer('Swipes per second.', { default: 1_000, min: 1 }),
    feeds: integer('Number of feeds per second with a kept stack.', { default: 500, min: 1 }),
    builds: integer('Number of feeds per second that need a search.', { default: 200, min: 1 }),
    records: integer('Number of swipes that match-pairs processes per round.', { default: 500_000, min: 1_000 }),
    to: choice(
      'What ends the measured time from a mutual swipe to its push: the push record in Kafka, or the request to the webhook.',
      ['record', 'webhook'],
      {
        default: 'record',
      },
    ),
    'no-peers': flag('Measures no peers.'),
    prof: text('Writes a .cpuprofile of the API and of each worker into this folder.', { placeholder: 'FOLDER' }),
    note: text('Appends the results to bench/results.md under this note.'),
  },
  environment: {
    MILLRACE_DATA: 'Folder of the public data sets. Default: ../shared/data.',
    PEERS_DIR: "Folder of the peers' programs, each with a run.sh. Default: ../shared/peers.",
    PEERS_BUILD: "Folder of the peers' builds.",
  },
  examples: [['--part swipe,feed --rounds 1 --seconds 5 --profiles 5000', 'Runs a short measurement of two parts.']],
})
