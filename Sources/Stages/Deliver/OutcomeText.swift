import EventLog
import JSON
import PipelineKit

/// What became of a push at one device.
enum Outcome {
    /// The transport's word.
    case answered(TransportAnswer)
    /// The device made the change itself.
    case excludedOrigin
    /// The device registered with a transport that the pipeline does not set up.
    case unknownTransport
}

/// What all outcomes of one push share, kept until the last device has answered.
struct OutcomeText {
    /// `{"type":"outcome","push":…,"notificationID":…,"user":…`, then `,"causes":…}`.
    private let text: [UInt8]
    private let causesStart: Int

    init(_ push: Push, sequence: UInt64) {
        let ids = push.notificationID.raw.count + push.userName.raw.count
        var buffer = ByteBuffer(capacity: ids + push.causes.raw.count + 100)
        buffer.append("{\"type\":\"outcome\",\"push\":")
        buffer.appendJSON(sequence)
        buffer.append(",\"notificationID\":")
        buffer.append(push.notificationID.raw)
        buffer.append(",\"user\":")
        buffer.append(push.userName.raw)
        causesStart = buffer.count
        buffer.append(",\"causes\":")
        buffer.append(push.causes.raw)
        buffer.append(byte: UInt8(ascii: "}"))
        text = Array(buffer.bytes)
    }

    func writeNoDevice(to buffer: inout ByteBuffer) {
        write(to: &buffer) { $0.append(",\"outcome\":\"no_device\"") }
    }

    func write(_ outcome: Outcome, at device: Device, _ id: PositionID, to buffer: inout ByteBuffer) {
        write(to: &buffer) { buffer in
            device.writeName(to: &buffer)
            buffer.append(",\"apns-id\":")
            buffer.appendJSON(id)
            buffer.append(",\"outcome\":")
            switch outcome {
            case .excludedOrigin: buffer.append("\"excluded_origin\"")
            case .unknownTransport: buffer.append("\"unknown_transport\"")
            case .answered(let answer): buffer.append(answer)
            }
        }
    }

    @inline(__always)
    private func write(to buffer: inout ByteBuffer, _ middle: (inout ByteBuffer) -> Void) {
        text.withUnsafeBytes { text in
            buffer.append(UnsafeRawBufferPointer(rebasing: text[..<causesStart]))
            middle(&buffer)
            buffer.append(UnsafeRawBufferPointer(rebasing: text[causesStart...]))
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ answer: TransportAnswer) {
        appendJSON(answer.outcome.rawValue)
        if let status = answer.status {
            append(",\"status\":")
            appendJSON(status)
        }
        if let reason = answer.reason {
            append(",\"reason\":")
            appendJSON(reason)
        }
        append(",\"attempts\":")
        appendJSON(answer.attempts)
    }
}
