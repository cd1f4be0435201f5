import { command } from '../../scripts/command-line/command.ts'
import { choice, choices, flag, integer, number } from '../../scripts/command-line/option.ts'
import { FAULT_KINDS } from './schedule.ts'

const MAX_SEED = 2 ** 31

export default command({
  call: 'npm run test:chaos --',
  description:
    'Runs random schedules of faults, one after another, and compares every output with one that is computed offline from the input. The exit code is 1 if a run fails. With the option of a service, such as --trends, runs rounds of faults against the parts of that service instead.',
  options: {
    seeds: integer('Number of schedules, or of rounds with the option of a service.', { default: 10, min: 1 }),
    from: integer('Seed of the first schedule or round. Each further schedule or round uses the next seed. Default: random.', {
      max: MAX_SEED,
    }),
    seed: integer('Repeats this one schedule or round.', { max: MAX_SEED }),
    faults: choices('Kinds of faults, one of each per run. By default they are drawn from the seed.', FAULT_KINDS),
    minutes: number('Starts no run after this many minutes. Default: no limit.', { min: 0 }),
    'longest-pause': number('Longest pause of the broker in seconds. By default 9, and occasionally 20 to 30.', { min: 0 }),
    brokers: choice('Number of brokers. With 2, partitions and coordinators move between the brokers.', ['1', '2'], { default: '1' }),
    volume: flag(
      'Runs at volume: three brokers with three replicas of each record and leaders that move, transactions of several MiB, logs that are compacted all the time, an additional worker that joins and leaves, and a topic that gets more partitions.',
    ),
    trends: flag('Kills the parts of the trends service.'),
    links: flag('Kills the parts of the links service.'),
    snippets: flag('Kills the parts of the snippets service.'),
    limits: flag('Makes the Redis of the rate limits fail under load.'),
    matches: flag('Kills and stops the parts of the match feed, and empties Redis.'),
    fraud: flag('Kills, stops and slows the parts of fraud scoring, and empties Redis, while payments arrive.'),
    inventory: flag('Kills and stops the parts that keep stock, and empties Redis.'),
    search: flag('Kills and stops the parts of search, wipes its index and fills its disk, while products change.'),
    elections: flag(
      'Elects leaders that lack the last records of their partitions, on three brokers, while a reader and a worker with kept state use these partitions.',
    ),
    recommendations: flag(
      'Kills and stops the parts of recommendations, and empties Redis and the state of a worker, while users view items and read lists.',
    ),
  },
  environment: {
    CHAOS_ROUNDS: 'With a service: number of rounds. Default: the value of --seeds.',
    CHAOS_SEED: 'With a service: seeds all random decisions. Default: the value of --seed or --from.',
    CHAOS_PARTS: 'With a service: the parts or kinds of faults to use, separated by commas. Default: all.',
    MILLRACE_HOME: 'Folder whose subfolder chaos/ keeps the logs of failed runs. Default: .millrace.',
  },
  examples: [
    ['--seeds 100', 'A hundred random schedules.'],
    ['--seed 7 --faults kill,cut', 'Repeats seed 7 with these faults.'],
    ['--volume --seeds 5', 'Five schedules at volume.'],
    ['--matches --seeds 20 --from 5', 'Runs twenty rounds of the match feed, with seeds 5 to 24.'],
    ['--fraud --seeds 3', 'Three rounds of fraud scoring.'],
    ['--inventory --seeds 3', 'Runs three rounds of stock and carts.'],
    ['--recommendations --seed 7', 'Repeats the round of recommendations with seed 7.'],
  ],
})
