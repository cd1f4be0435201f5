import { command } from '../../scripts/command-line/command.ts'
import { duration, integer, number, required, text } from '../../scripts/command-line/option.ts'

/** So that `--speed` is above zero. */
const LEAST_SPEED = 1e-6

export default command({
  call: 'npm run replay --',
  description:
    "Replays a file of recorded tweets. Each tweet is created when it is played, since trends are counted by created_at: at speed 2000 a window of 60 minutes holds 83 days of the recording's time. Hashtags and phrases are taken from the text. The recording names neither users nor places; each tweet's id decides them, and half of an event's tweets come from its own country.",
  positionals: {
    FILE: required(text('CSV file, gzipped or not, with the columns tweet_id, created_at, text, and event if there is one.')),
  },
  options: {
    speed: number('How many times faster than recorded.', { default: 2000, min: LEAST_SPEED }),
    limit: integer('Plays only the first N tweets.', { min: 1 }),
    'longest-gap': duration('Silences of the recording are cut to this.', { default: '1h' }),
    'at-once': duration('Does not wait: spreads the tweets over this time before now and sends them as fast as they are taken.'),
  },
  environment: {
    KAFKA_BROKERS: 'Default: the broker of the running npm start.',
    SCHEMA_REGISTRY_URL: 'Default: the registry of the running npm start.',
  },
  examples: [['tweets.csv.gz --at-once 50m', 'Fills the last fifty minutes.']],
})
