import { command } from '../../scripts/command-line/command.ts'
import { flag } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm start --',
  description: 'Starts everything and keeps it running until Ctrl-C. The next start continues with the same data.',
  options: { reset: flag('Deletes the local data first, but keeps the downloaded tools, the keys and the passwords.') },
  environment: {
    MILLRACE_HOME: 'Folder of data, logs and tools. Default: .millrace.',
    MILLRACE_DEMO: '0 disables the demonstration. Default: 1.',
    PARTITIONS: 'Partition counts of new topics: local or production. Default: local.',
    'WORKERS, DECIDERS': 'Numbers of worker processes. Default: 1 each.',
    PIPELINES: 'Services whose pipelines run. Default: all.',
    API_SERVICES: 'Services whose APIs run. Default: all.',
    API_PORT: 'Port of the API. Default: 8080.',
    API_PROCESSES: 'Number of API processes. Default: 1.',
    'KAFKA_BROKERS, REDIS_URL, CLICKHOUSE_URL, SCHEMA_REGISTRY_URL, OPENSEARCH_URL': 'External servers to use instead of local ones.',
    'KAFKA_PORT, KAFKA_CONTROLLER_PORT, REDIS_PORT, CLICKHOUSE_PORT, SCHEMA_REGISTRY_PORT, OPENSEARCH_PORT': 'Ports of the local servers.',
    'WORKER_HEALTH_PORT, DECIDER_HEALTH_PORT, API_OPERATIONS_PORT':
      'Ports of the first worker, decider and API for health and metrics. The README lists all settings.',
  },
  examples: [['--reset', 'Starts with empty servers.']],
})
