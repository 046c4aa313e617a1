import EventLog
import JSON
import Time

/// What hosts say to each other about the owner of a log.
enum HostMessage: Hashable, Sendable {
    case beacon(OwnerBeacon)
    /// Asks a host to give up the log that it owns, so that another one takes it over.
    case drain(host: String)
    /// Asks the owner for a beacon.
    case question

    /// A longer message means nothing.
    private static let bytesMax = 4 << 10

    var bytes: [UInt8] {
        var buffer = ByteBuffer()
        buffer.object {
            switch self {
            case .beacon(let beacon): beacon.write(to: &$0)
            case .drain(let host): $0.append("drain", host)
            case .question: $0.append("ask", "owner")
            }
        }
        return Array(buffer.bytes)
    }

    /// Nil if the bytes mean nothing.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= HostMessage.bytesMax else { return nil }
        var parser = JSONParser(limits: JSONLimits(bytesMax: HostMessage.bytesMax, depthMax: 2))
        let found = bytes.withUnsafeBytes { bytes -> HostMessage? in
            do throws(JSONError) { return HostMessage(try parser.parse(bytes)) } catch { return nil }
        }
        guard let found else { return nil }
        self = found
    }

    private init?(_ json: JSONValue) {
        if let host = json.text("drain") {
            self = .drain(host: host)
        } else if json.text("ask") == "owner" {
            self = .question
        } else if let beacon = OwnerBeacon(json) {
            self = .beacon(beacon)
        } else {
            return nil
        }
    }
}

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
}

extension OwnerBeacon {
    fileprivate func write(to object: inout ByteBuffer) {
        object.append("host", host)
        object.append("owner", owner)
        object.append("last", last)
        object.append("time", time.rfc3339)
        object.append("sent", sent)
        if ends { object.append("ends", true) }
    }

    /// Nil if the object is not a beacon.
    fileprivate init?(_ json: JSONValue) {
        guard let host = json.text("host"), let owner = json.natural("owner"), let last = json.natural(.last),
            let time = json.text("time").flatMap({ Instant(rfc3339: $0) }), let sent = json["sent"]?.int64
        else { return nil }
        self.init(
            host: host, owner: owner, last: last, time: time, sent: sent, ends: json["ends"]?.bool ?? false)
    }
}
