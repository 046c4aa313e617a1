import JSON

/// How a stream is stored. The messages are in files, nobody can delete single messages, and a full stream refuses new
/// messages instead of removing old ones.
package struct StreamSettings: Hashable, Sendable {
    package var name: StreamName
    /// The subjects whose messages the stream stores. May have the wildcards `*` and `>`.
    package var subjects: [String]
    /// The stream's `description`, which JetStream stores but does not interpret.
    package var note = ""
    /// On how many servers the messages are stored: 1, 3 or 5.
    package var replicas = 1
    /// The size of all messages, in bytes; nil for no limit.
    package var bytesMax: Int64?

    package init(_ name: StreamName, subjects: [String]) { (self.name, self.subjects) = (name, subjects) }

    /// Each stream has a time window in which JetStream stores only the first of several messages with the same ID.
    /// Belfry's messages have no IDs, so the smallest window is enough (nats-server: 100 ms).
    private static let duplicateWindowNanoseconds: Int64 = 100_000_000

    func write(to buffer: inout ByteBuffer) {
        buffer.object { config in
            config.append("name", name.text)
            config.append("description", note)
            config.append("subjects", subjects)
            config.append("retention", word: "limits")
            config.append("storage", word: "file")
            config.append("discard", word: "new")
            config.append("num_replicas", replicas)
            config.append("max_bytes", bytesMax ?? -1)
            for limit in ["max_msgs", "max_consumers", "max_msgs_per_subject", "max_msg_size"] as [StaticString] {
                config.append(limit, -1)
            }
            config.append("duplicate_window", StreamSettings.duplicateWindowNanoseconds)
            config.append("deny_delete", true)
        }
    }

    /// Nil if the name is not valid.
    init?(_ config: JSONValue) {
        do throws(JetStreamError) { name = try StreamName(config["name"]?.string ?? "") } catch { return nil }
        subjects = config["subjects"]?.elements.compactMap(\.string) ?? []
        note = config["description"]?.string ?? ""
        replicas = Int(config["num_replicas"]?.int64 ?? 1)
        bytesMax = config["max_bytes"]?.int64.flatMap { $0 < 0 ? nil : $0 }
    }
}
