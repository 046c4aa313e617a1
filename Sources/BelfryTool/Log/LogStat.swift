import EventLog
import Events
import Inspect
import JSON
import PipelineRuntime
import Time

/// The number and the bytes of a log's events, for each type.
struct LogStat {
    struct Amount: Hashable {
        var events: UInt64 = 0
        var bytes: UInt64 = 0

        fileprivate mutating func add(_ bytes: UInt64) {
            events += 1
            self.bytes += bytes
        }
    }

    struct Largest: Hashable {
        var sequence: UInt64
        var bytes: UInt64
        var type: String
    }

    let name: String
    private(set) var batches: UInt64 = 0
    private(set) var total = Amount()
    private(set) var types: [String: Amount] = [:]
    private(set) var largest: Largest?
    private(set) var firstNow: Instant?
    private(set) var lastNow: Instant?

    init(name: String) { self.name = name }

    /// Reads a whole log.
    static func read(_ directory: String, progress: (_ bytes: UInt64) -> Void = { _ in }) throws(EventLogError)
        -> LogStat
    {
        var stat = LogStat(name: LogPlace.name(ofLogAt: directory))
        var parser = JSONParser(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax, depthMax: 512))
        let reader = try EventLogReader(directory: directory, from: .beginning)
        while let batch = try reader.next() {
            stat.count(batch, &parser)
            progress(UInt64(batch.header.bodyBytes))
        }
        return stat
    }

    /// The seconds from the first batch to the last batch.
    var seconds: Double {
        guard let firstNow, let lastNow else { return 0 }
        return (lastNow - firstNow) / .seconds(1)
    }

    /// All types, the most frequent type first.
    var typesByFrequency: [(type: String, amount: Amount)] {
        types.map { (type: $0.key, amount: $0.value) }.sorted {
            ($1.amount.events, $0.type) < ($0.amount.events, $1.type)
        }
    }

    /// The events of a type per second; nil if all batches have the same time.
    func rate(_ amount: Amount) -> Double? { seconds > 0 ? Double(amount.events) / seconds : nil }

    private mutating func count(_ batch: EventLogReader.Batch, _ parser: inout JSONParser) {
        batches += 1
        firstNow = firstNow ?? batch.header.now
        lastNow = batch.header.now
        var sequence = batch.header.firstSequence
        for line in Lines(batch.body) {
            count(line, sequence, &parser)
            sequence += 1
        }
    }

    private mutating func count(_ line: UnsafeRawBufferPointer, _ sequence: UInt64, _ parser: inout JSONParser) {
        let type = LogStat.type(of: line, &parser)
        let bytes = UInt64(line.count + 1)
        total.add(bytes)
        types[type, default: Amount()].add(bytes)
        if bytes > largest?.bytes ?? 0 { largest = Largest(sequence: sequence, bytes: bytes, type: type) }
    }

    private static func type(of line: UnsafeRawBufferPointer, _ parser: inout JSONParser) -> String {
        do throws(JSONError) { return try parser.parse(line)[.type]?.string ?? "no type" } catch { return "not JSON" }
    }
}

/// Describes statistics, as a table for people or as JSON.
enum StatText {
    static func lines(_ stat: LogStat) -> [String] {
        let span = stat.firstNow.map { "\($0) to \(stat.lastNow?.rfc3339 ?? "-")" } ?? "no batch yet"
        let head =
            "\(stat.name): \(stat.total.events.of("event")) in \(stat.batches.of("batch")), "
            + "\(byteText(stat.total.bytes)) of events; \(span)"
        let largest = stat.largest.map {
            "largest: sequence \($0.sequence), \($0.type.printable), \(byteText($0.bytes))"
        }
        return [head] + table(stat) + [largest].compactMap(\.self)
    }

    private static func table(_ stat: LogStat) -> [String] {
        guard stat.total.events > 0 else { return [] }
        var table = TextTable("TYPE", "EVENTS", "SHARE", "BYTES", "EACH", "PER SECOND")
        for (type, amount) in stat.typesByFrequency {
            let percent = Double(amount.events) * 100 / Double(stat.total.events)
            table.add(
                type.printable, amount.events.grouped, percent.text(decimals: 1) + "%", byteText(amount.bytes),
                byteText(amount.bytes / amount.events), stat.rate(amount)?.text(decimals: 1) ?? "-")
        }
        return table.lines
    }

    static func json(_ stat: LogStat) -> String {
        ByteBuffer.object {
            $0.append("name", stat.name)
            $0.append("events", stat.total.events)
            $0.append("bytes", stat.total.bytes)
            $0.append("batches", stat.batches)
            if let first = stat.firstNow, let last = stat.lastNow {
                $0.append("firstNow", first.rfc3339)
                $0.append("lastNow", last.rfc3339)
            }
            $0.append("largest", raw: stat.largest.map(json))
            $0.append("types", stat.typesByFrequency) { $0.append(raw: json($1.type, $1.amount, stat)) }
        }.text
    }

    private static func json(_ largest: LogStat.Largest) -> String {
        ByteBuffer.object {
            $0.append("sequence", largest.sequence)
            $0.append("bytes", largest.bytes)
            $0.append("type", largest.type)
        }.text
    }

    private static func json(_ type: String, _ amount: LogStat.Amount, _ stat: LogStat) -> String {
        ByteBuffer.object {
            $0.append("type", type)
            $0.append("events", amount.events)
            $0.append("bytes", amount.bytes)
            $0.append("share", Double(amount.events) / Double(stat.total.events))
            $0.append("perSecond", stat.rate(amount))
        }.text
    }
}
