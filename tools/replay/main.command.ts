import { command } from '../../scripts/command-line/command.ts'
import { duration, integer, number, required, text } from '../../scripts/command-line/option.ts'

/** Smallest speed, because `--speed` must be positive. */
const LEAST_SPEED = 1e-6

export default command({
  call: 'npm run replay --',
  description:
    "Replays a file of recorded tweets. The created_at of each tweet is the time at which it is played, because trends are counted by created_at: at speed 2000, a window of 60 minutes contains 83 days of the recording. Hashtags and phrases are extracted from the text. The recording contains neither users nor places, so both are derived from the tweet's id; half of an event's tweets come from the event's country.",
  positionals: {
    FILE: required(text('CSV file, optionally gzipped, with the columns tweet_id, created_at, text and optionally event.')),
  },
  options: {
    speed: number('Speed-up relative to the recording.', { default: 2000, min: LEAST_SPEED }),
    limit: integer('Plays only the first N tweets.', { min: 1 }),
    'longest-gap': duration('Longer gaps in the recording are shortened to this length.', { default: '1h' }),
    'at-once': duration('Sends the tweets as fast as possible, with times spread over this period before now.'),
  },
  environment: {
    KAFKA_BROKERS: 'Addresses of the brokers. Default: the broker of the running npm start.',
    SCHEMA_REGISTRY_URL: 'URL of the schema registry. Default: the registry of the running npm start.',
  },
  examples: [['tweets.csv.gz --at-once 50m', 'Fills the last 50 minutes.']],
})
