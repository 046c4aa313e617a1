import CCurl
import Glibc

/// An address of IPv4 or IPv6.
struct IPAddress: Hashable, Sendable {
    /// 4 bytes for IPv4, 16 for IPv6.
    let bytes: [UInt8]

    /// Nil if there are neither 4 nor 16 bytes.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Reads a socket's address; nil if it belongs to neither IPv4 nor IPv6.
    init?(_ address: UnsafePointer<curl_sockaddr>) {
        self.init([UInt8](unsafeUninitializedCapacity: 16) { $1 = curl_ip_bytes(address, $0.baseAddress) })
    }

    /// Reads a host in any form that libcurl accepts as an address, such as `127.1` and `0x7f000001`; nil for other
    /// hosts.
    init?(host: String) {
        let text = host.prefix { $0 != "%" }.trimmingSuffix { $0 == "." }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET6, String(text), &bytes) == 1 {
            self.init(bytes)
            return
        }
        var four = in_addr()
        guard inet_aton(String(text), &four) != 0 else { return nil }
        self.init(withUnsafeBytes(of: four) { Array($0) })
    }
}

extension IPAddress: CustomStringConvertible {
    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension Substring {
    fileprivate func trimmingSuffix(while drops: (Character) -> Bool) -> Substring {
        var rest = self
        while let last = rest.last, drops(last) { rest.removeLast() }
        return rest
    }
}
