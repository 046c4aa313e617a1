import EventLog
import JSON
import Time

/// What the owner of a log says to the other hosts, again and again.
struct OwnerBeacon: Hashable, Sendable {
    /// The owner's name in the pipeline file.
    var host: String
    /// The position in the log's home of the message with which this host took the log over. The greatest one belongs
    /// to the owner.
    var owner: UInt64
    /// The last event of the log.
    var last: UInt64
    /// The owner's clock.
    var time: Instant
    /// When the owner sent this, in microseconds since its host took the log over. Only the sender can use it.
    var sent: Int64
    /// Whether the host gives the log up, so that another one can take it over at once.
    var ends = false

    /// A longer message is not a beacon.
    fileprivate static let bytesMax = 4 << 10

    var bytes: [UInt8] {
        var buffer = ByteBuffer()
        buffer.object {
            $0.append("host", host)
            $0.append("owner", owner)
            $0.append("last", last)
            $0.append("time", time.rfc3339)
            $0.append("sent", sent)
            if ends { $0.append("ends", true) }
        }
        return Array(buffer.text.utf8)
    }
}

/// Asks a host to give up the log that it owns, so that another one takes it over.
package struct DrainRequest: Hashable, Sendable {
    package var host: String

    package init(host: String) { self.host = host }

    package var bytes: [UInt8] { Array(ByteBuffer.object { $0.append("drain", host) }.text.utf8) }

    /// Nil if the bytes are not such a request.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= OwnerBeacon.bytesMax else { return nil }
        var parser = JSONParser(limits: JSONLimits(bytesMax: OwnerBeacon.bytesMax, depthMax: 2))
        let found = bytes.withUnsafeBytes { bytes -> String? in
            do throws(JSONError) { return try parser.parse(bytes)["drain"]?.string } catch { return nil }
        }
        guard let found else { return nil }
        host = found
    }
}

extension OwnerBeacon {
    /// Nil if the bytes are not a beacon.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= OwnerBeacon.bytesMax else { return nil }
        var parser = JSONParser(limits: JSONLimits(bytesMax: OwnerBeacon.bytesMax, depthMax: 2))
        let found = bytes.withUnsafeBytes { bytes -> OwnerBeacon? in
            do throws(JSONError) { return OwnerBeacon(try parser.parse(bytes)) } catch { return nil }
        }
        guard let found else { return nil }
        self = found
    }

    private init?(_ json: JSONValue) {
        guard let host = json["host"]?.string, let owner = json.natural("owner"), let last = json.natural(.last),
            let time = json["time"]?.string.flatMap({ Instant(rfc3339: $0) }), let sent = json["sent"]?.int64
        else { return nil }
        self.init(
            host: host, owner: owner, last: last, time: time, sent: sent, ends: json["ends"]?.bool ?? false)
    }
}
