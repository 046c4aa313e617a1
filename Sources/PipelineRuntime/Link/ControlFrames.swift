import JSON
import ZeroMQ

/// Reads the control frames that peers send to a ROUTER. A message consists of the peer's routing ID, a control frame
/// in JSON, and for some types a frame of events.
final class ControlFrames {
    enum Side {
        case link, door

        var framesCode: String { self == .link ? "link.frames" : "door.frames" }
        var frameCode: String { self == .link ? "link.frame" : "door.frame" }
    }

    enum Arrival {
        /// No message waits.
        case none
        /// A message with too many frames, or without a valid control frame; `refuse` was called.
        case refused
        /// Valid until the next message is read.
        case frame(JSONValue, peer: [UInt8])
    }

    typealias Refuse = (_ peer: [UInt8], _ code: String, _ reason: String) throws -> Void

    /// The message that was read last, with its frame of events.
    let message = ZMQMultipart()
    private var parser = JSONParser(limits: JSONLimits(bytesMax: 64 << 10, depthMax: 8))
    private let side: Side
    private let framesRule: String

    /// - Parameter framesRule: How many frames a message should have, in words. If a message is refused because it has
    ///   too many frames, the reason ends with this text.
    init(side: Side, framesRule: String) { (self.side, self.framesRule) = (side, framesRule) }

    func next(from socket: any MessageSocket, _ refuse: Refuse) throws -> Arrival {
        let received = try socket.receive(into: message, wait: false)
        if received == .empty { return .none }
        let peer = message.bytes(at: 0)
        if case .tooManyFrames(let count) = received {
            try refuse(peer, side.framesCode, "found a message of \(count - 1) frames; \(framesRule)")
            return .refused
        }
        guard message.count >= 2 else {
            try refuse(peer, side.framesCode, "found a message without a control frame")
            return .refused
        }
        do throws(JSONError) { return .frame(try parser.parse(message[1]), peer: peer) } catch {
            try refuse(peer, side.frameCode, "the control frame is not JSON: \(error)")
            return .refused
        }
    }
}
