import NIOCore

/// The header of an HTTP/2 frame (RFC 9113, section 4.1).
struct FrameHeader {
    static let byteCount = 9

    let length: Int
    let kind: UInt8
    let flags: UInt8
    let stream: UInt32

    init(length: Int, kind: FrameKind, flags: UInt8 = 0, stream: UInt32 = 0) {
        self.length = length
        self.kind = kind.rawValue
        self.flags = flags
        self.stream = stream
    }

    /// - Parameter bytes: At least ``byteCount`` bytes.
    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer) {
        let word = UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))
        length = Int(word >> 8)
        kind = UInt8(truncatingIfNeeded: word)
        flags = bytes[4]
        stream = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 5, as: UInt32.self)) & 0x7FFF_FFFF
    }

    /// - Parameter bytes: Room for ``byteCount`` bytes.
    @inline(__always)
    func write(to bytes: UnsafeMutableRawPointer) {
        let word = UInt32(truncatingIfNeeded: length) << 8 | UInt32(kind)
        bytes.storeBytes(of: word.bigEndian, as: UInt32.self)
        bytes.storeBytes(of: flags, toByteOffset: 4, as: UInt8.self)
        bytes.storeBytes(of: stream.bigEndian, toByteOffset: 5, as: UInt32.self)
    }
}

/// The types of frames (RFC 9113, section 6).
enum FrameKind: UInt8 {
    case data = 0
    case headers
    case priority
    case resetStream
    case settings
    case pushPromise
    case ping
    case goAway
    case windowUpdate
    case continuation
}

enum FrameFlag {
    /// Marks the acknowledgement of SETTINGS, and the answer to PING.
    static let ack: UInt8 = 0x01
    static let endStream: UInt8 = 0x01
    static let endHeaders: UInt8 = 0x04
    static let padded: UInt8 = 0x08
    static let priority: UInt8 = 0x20
}

/// Why a stream or a connection ends (RFC 9113, section 7).
struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
    let rawValue: UInt32

    static let noError = Self(rawValue: 0x0)
    static let protocolError = Self(rawValue: 0x1)
    static let flowControlError = Self(rawValue: 0x3)
    static let frameSizeError = Self(rawValue: 0x6)
    static let refusedStream = Self(rawValue: 0x7)
    static let cancel = Self(rawValue: 0x8)
    static let compressionError = Self(rawValue: 0x9)
    static let enhanceYourCalm = Self(rawValue: 0xB)
}

/// The identifiers of settings (RFC 9113, section 6.5.2).
enum SettingID {
    static let headerTableSize: UInt16 = 0x1
    static let enablePush: UInt16 = 0x2
    static let concurrentStreamsMax: UInt16 = 0x3
    static let initialWindowSize: UInt16 = 0x4
    static let frameSizeMax: UInt16 = 0x5
    static let headerListSizeMax: UInt16 = 0x6
}
