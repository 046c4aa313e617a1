import Events
import JSON
import Time

/// The end of the changes log, from ingest's answer to a question about its health.
struct LogEnd {
    let identity: LogIdentity
    let lastSequence: UInt64

    /// Nil if ingest has no log yet, or if the text is not an answer about ingest's health.
    init?(_ answer: String) {
        var parser = JSONParser(limits: JSONLimits(bytesMax: 1 << 20))
        let end = Array(answer.utf8).withUnsafeBytes { bytes -> LogEnd? in
            do throws(JSONError) { return LogEnd(try parser.parse(bytes)) } catch { return nil }
        }
        guard let end else { return nil }
        self = end
    }

    init?(_ json: JSONValue) {
        guard let identity = json["identity"]?.string.flatMap(LogIdentity.init(uuid:)), let last = json[.last]?.int64
        else { return nil }
        (self.identity, lastSequence) = (identity, UInt64(max(0, last)))
    }
}
