"""An ordinary producer in another language. It uses librdkafka with the murmur2 partitioner, and Confluent's Avro
serializer with the registered schema.

Standard input: {"brokers", "registry", "tweets": [...], "raw": [...]}. Tweets have the fields of the schema, with created_at
in epoch ms. Raw records {"key", "value"} are sent unchanged.
Prints {"schema": id, "partitions": {key: partition}}.
"""

import json
import sys

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

TOPIC = "tweets"
DEADLINE_SECONDS = 30

request = json.load(sys.stdin)
registry = SchemaRegistryClient({"url": request["registry"]})
latest = registry.get_latest_version(f"{TOPIC}-value")
serialize = AvroSerializer(registry, latest.schema.schema_str, conf={"auto.register.schemas": False, "use.latest.version": True})
producer = Producer({"bootstrap.servers": request["brokers"], "partitioner": "murmur2_random", "enable.idempotence": True})
partitions = {}


def delivered(error, message):
    if error is not None:
        raise SystemExit(f"not delivered: {error}")
    partitions[message.key().decode()] = message.partition()


for tweet in request["tweets"]:
    value = serialize(tweet, SerializationContext(TOPIC, MessageField.VALUE))
    producer.produce(TOPIC, key=str(tweet["user_id"]).encode(), value=value, on_delivery=delivered)
for record in request["raw"]:
    producer.produce(TOPIC, key=record["key"].encode(), value=record["value"].encode(), on_delivery=delivered)
if producer.flush(DEADLINE_SECONDS) > 0:
    raise SystemExit("not everything was delivered")
json.dump({"schema": latest.schema_id, "partitions": partitions}, sys.stdout)
