import EventLog
import JSON
import JetStream
import Time

/// The stream and the subjects of one log.
struct HomeName: Hashable, Sendable {
    let stream: StreamName
    let batches: String
    let file: String
    let owner: String
    /// The subject of messages that no stream stores.
    let alive: String
    let snapshots: SnapshotsName

    var subjects: [String] { [batches, file, owner] }

    /// The stream and the subjects of the log's snapshots.
    struct SnapshotsName: Hashable, Sendable {
        let stream: StreamName
        let part: String
        let list: String

        var subjects: [String] { [part, list] }
    }

    /// - Throws: ``JetStreamError/invalidName(_:)`` if the names are too long for a stream.
    init(pipeline: String, log: String) throws(JetStreamError) {
        let (pipeline, log) = (HomeName.word(pipeline), HomeName.word(log))
        stream = try StreamName("belfry__\(pipeline)__\(log)")
        let start = "belfry.\(pipeline).\(log)"
        (batches, file, owner) = ("\(start).batches", "\(start).file", "\(start).owner")
        alive = "\(start).alive"
        snapshots = SnapshotsName(
            stream: try StreamName("\(stream)__snapshots"), part: "\(start).snapshots.part",
            list: "\(start).snapshots.list")
    }

    /// The name with the characters that a stream's name can have. Different names give different words, because each
    /// underscore of a word is followed by a letter that tells what it stands for.
    private static func word(_ name: String) -> String {
        name.unicodeScalars.map { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-": String(scalar)
            case "_": "_u"
            case ".": "_d"
            default: "_x" + String(scalar.value, radix: 16) + "x"
            }
        }.joined()
    }
}

/// The note in a stream's description, which says which log the stream holds: `{"log":"changes","identity":"…"}`.
struct HomeIdentity: Hashable {
    let log: String
    let identity: LogIdentity

    var text: String {
        ByteBuffer.object {
            $0.append("log", log)
            $0.append("identity", "\(identity)")
        }.text
    }

    init(log: String, identity: LogIdentity) { (self.log, self.identity) = (log, identity) }

    /// Nil if the stream is not one of Belfry's.
    init?(_ text: String) {
        var parser = JSONParser()
        let found = Array(text.utf8).withUnsafeBytes { bytes -> (String, LogIdentity)? in
            do throws(JSONError) {
                let json = try parser.parse(bytes)
                guard let log = json["log"]?.string, let identity = json["identity"]?.string else { return nil }
                return LogIdentity(uuid: identity).map { (log, $0) }
            } catch { return nil }
        }
        guard let found else { return nil }
        (log, identity) = found
    }
}
