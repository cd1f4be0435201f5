"""Reads the facts that the API has published. Uses an independent client: librdkafka and Confluent's Avro deserializer.

Arguments: brokers, registry URL, topics. Prints a JSON list per topic: [{key, partition, value}, ...]. 64-bit user ids
are text.
"""

import json
import sys
import uuid

from confluent_kafka import DeserializingConsumer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import StringDeserializer

DEADLINE_SECONDS = 20
brokers, registry_url, topics = sys.argv[1], sys.argv[2], sys.argv[3:]


def read(topic):
    consumer = DeserializingConsumer({
        "bootstrap.servers": brokers, "group.id": str(uuid.uuid4()), "enable.auto.commit": False,
        "key.deserializer": StringDeserializer(),
        "value.deserializer": AvroDeserializer(SchemaRegistryClient({"url": registry_url})),
    })
    partitions = [TopicPartition(topic, number, 0) for number in consumer.list_topics(topic).topics[topic].partitions]
    expected = sum(consumer.get_watermark_offsets(partition)[1] for partition in partitions)
    consumer.assign(partitions)
    records = []
    while len(records) < expected:
        message = consumer.poll(DEADLINE_SECONDS)
        if message is None:
            raise SystemExit(f"{topic}: {len(records)} of {expected} records")
        value = message.value()
        if "user_id" in value:
            value["user_id"] = str(value["user_id"])
        records.append({"key": message.key(), "partition": message.partition(), "value": value})
    consumer.close()
    return records


print(json.dumps([read(topic) for topic in topics], default=str))
