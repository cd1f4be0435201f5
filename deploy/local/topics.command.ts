import { command } from '../../scripts/command-line/command.ts'

export default command({
  call: 'npm run topics --',
  description:
    'Creates the topics and registers the schemas on the given servers. Run it once before the first worker of a new environment starts. Existing topics keep their partition counts.',
  environment: {
    PARTITIONS: 'Partition counts of new topics: local or production. Default: local.',
    KAFKA_BROKERS: 'Brokers that get the topics. Default: the local broker.',
    SCHEMA_REGISTRY_URL: 'Registry that gets the schemas. Default: the local registry.',
  },
})
