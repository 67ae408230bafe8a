# The broker of the tests: Java runs it, and Maven fetches it once, into the user's cache.
# shellcheck shell=bash

kafka_service=${root:?set by scripts/env.sh}/scripts/services/kafka

# The newest Java that the distribution is known to have; its default one where its lists were never read.
java_package() {
    local release
    for release in 25 21 17; do
        if apt-cache show "openjdk-$release-jre-headless" >/dev/null 2>&1; then echo "openjdk-$release-jre-headless"; return; fi
    done
    echo default-jre-headless
}

has_kafka_or_maven() { "$kafka_service" has-jars || command -v mvn; }

need "Java 17 or newer, for Apache Kafka (java on the PATH or in JAVA_HOME)" "$(java_package)" "$kafka_service" find
need "Maven, to fetch Apache Kafka from Maven Central (or its jars in FOREMAN_TEST_KAFKA_JARS)" "maven" has_kafka_or_maven
