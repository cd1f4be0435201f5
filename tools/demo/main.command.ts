import { command } from '../../scripts/command-line/command.ts'
import { duration, integer, number, text } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run demo --',
  description:
    "Plays a live stream of generated events for every service that has one. Trends: tweets of users drawn by Zipf's law, in places drawn by population, with trending terms, bots, retweet storms, and late and malformed events. Match feed: users around San Francisco who appear, move, swipe by popularity and answer likes, through the HTTP API, at most 10 events per second. Fraud scoring: payments through the HTTP API, at most 5 per second, of which 1 % belong to frauds such as card testing and impossible travel, and an analyst who judges some cases. Catalog: a shop with generated products and customers who search, look, buy and review, at most 5 events per second. Recommendations: visitors who look at these products and request lists, at most 5 events per second. The same seed plays the same stream.",
  options: {
    services: text('Services to play, separated by commas: trends, matches, fraud, catalog, recommendations. Default: all.', {
      placeholder: 'LIST',
    }),
    rate: number('Events per second and service, up to the limits above.', { default: 40, min: 0.01 }),
    for: duration('Duration, such as 90s, 10m or 2h. Default: until Ctrl-C.'),
    seed: integer('Seed of the stream.', { default: 1 }),
  },
  environment: {
    KAFKA_BROKERS: 'Addresses of the brokers. Default: the broker of the running npm start.',
    SCHEMA_REGISTRY_URL: 'URL of the schema registry. Default: the registry of the running npm start.',
    API_URL: 'Base URL of the HTTP API. Default: that of the running npm start.',
    MILLRACE_HOME: "Folder of the running npm start and of the key that signs users' tokens. Default: .millrace.",
  },
  examples: [
    ['--rate 200 --for 10m --seed 7', 'Plays ten minutes of a different stream.'],
    ['--services matches,fraud', 'Plays only the match feed and fraud scoring.'],
  ],
})
