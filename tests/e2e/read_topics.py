"""Reads topics as an independent consumer does: librdkafka, read_committed, Confluent's Avro deserializer.

Standard input: {"brokers", "registry", "from": {topic: {partition: offset}}}. Partitions that are not listed are read from
their beginning.
Prints {topic: {"next": {partition: offset}, "records": [...]}} for everything committed so far. 64-bit ids are text, and
times are epoch ms. Tweets are printed without their text, and lists of trends with only some of their fields. A
tweet or list that cannot be decoded is null. Values of all other topics are printed as text in Latin-1.
"""

import json
import sys
import time
from datetime import datetime, timedelta, timezone

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import SerializationError

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MILLISECOND = timedelta(milliseconds=1)
DEADLINE_SECONDS = 90
BATCH = 2000
# How long the client waits for more messages before it returns an incomplete batch. This is short, so that tests are fast.
BATCH_SECONDS = 0.2

request = json.load(sys.stdin)
deserialize = AvroDeserializer(SchemaRegistryClient({"url": request["registry"]}))


def millis(time):
    return (time - EPOCH) // MILLISECOND


def tweet(value):
    ids = {"tweet_id": str(value["tweet_id"]), "user_id": str(value["user_id"])}
    return {**value, **ids, "text": "", "created_at": millis(value["created_at"])}


ENTRY_FIELDS = ["term", "tweet_volume", "variants", "velocity_vs_usual", "score", "label", "users"]


def trend_list(value):
    entries = [[entry[field] for field in ENTRY_FIELDS] for entry in value["entries"]]
    fields = {field: value[field] for field in ["woeid", "source", "missing_partitions"]}
    return {**fields, "window_end": millis(value["window_end"]), "entries": entries}


def raw(value):
    return value.decode("latin1")


SHAPES = {"tweets": tweet, "trend-output": trend_list, "trend-renewals": trend_list}


def decoded(topic, message):
    if topic not in SHAPES:
        return raw(message.value())
    try:
        value = deserialize(message.value(), None)
    except SerializationError:
        return None
    return SHAPES[topic](value)


def read(topic, offsets):
    consumer = Consumer({
        "bootstrap.servers": request["brokers"], "group.id": "reader", "enable.auto.commit": False,
        "isolation.level": "read_committed", "enable.partition.eof": True, "auto.offset.reset": "earliest",
    })
    partitions = consumer.list_topics(topic, timeout=DEADLINE_SECONDS).topics[topic].partitions
    following = {number: offsets.get(str(number), 0) for number in partitions}
    consumer.assign([TopicPartition(topic, number, offset) for number, offset in following.items()])
    unread = set(partitions)
    records = []
    deadline = time.monotonic() + DEADLINE_SECONDS
    while unread:
        messages = consumer.consume(BATCH, timeout=BATCH_SECONDS)
        if time.monotonic() > deadline:
            raise SystemExit(f"{topic}: the end of partitions {unread} was not reached within {DEADLINE_SECONDS} s")
        for message in messages:
            if message.error() is not None:
                if message.error().code() != KafkaError._PARTITION_EOF:
                    raise SystemExit(f"{topic}: {message.error()}")
                unread.discard(message.partition())
                continue
            following[message.partition()] = message.offset() + 1
            records.append({
                "partition": message.partition(), "offset": message.offset(), "timestamp": message.timestamp()[1],
                "key": None if message.key() is None else message.key().decode("latin1"), "value": decoded(topic, message),
            })
    consumer.close()
    return {"next": following, "records": records}


json.dump({topic: read(topic, offsets) for topic, offsets in request["from"].items()}, sys.stdout)
