import { command } from '../../scripts/command-line/command.ts'
import { duration, integer, number } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run demo --',
  description:
    "Plays a live stream of made-up events for every service that has one. Trends: tweets of people by Zipf's law in places by population, terms that really trend, bots, retweet storms, late and malformed events. The same seed plays the same stream.",
  options: {
    rate: number('Events per second of each service.', { default: 40, min: 0.01 }),
    for: duration('How long it plays, such as 90s, 10m or 2h. By default until Ctrl-C.'),
    seed: integer('Which stream.', { default: 1 }),
  },
  environment: {
    KAFKA_BROKERS: 'Default: the broker of the running npm start.',
    SCHEMA_REGISTRY_URL: 'Default: the registry of the running npm start.',
  },
  examples: [['--rate 200 --for 10m --seed 7', 'Ten minutes of another stream.']],
})
