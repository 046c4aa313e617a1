import Foundation
import JSON

/// An angle in degrees; north and east are positive.
public typealias CLLocationDegrees = Double

/// A place on Earth, in degrees.
public struct CLLocationCoordinate2D: Hashable, Sendable {
    /// The latitude, from -90 to 90.
    public var latitude: CLLocationDegrees
    /// The longitude, from -180 to 180.
    public var longitude: CLLocationDegrees

    /// Makes a coordinate without checking the ranges.
    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        (self.latitude, self.longitude) = (latitude, longitude)
    }
}

/// A location as a field's value. It replaces Core Location's class, which Linux lacks. It has only the coordinate,
/// because a payload carries no other part of a location.
open class CLLocation: NSObject, NSCopying, NSSecureCoding {
    /// The latitude and the longitude.
    open var coordinate: CLLocationCoordinate2D { place }
    private let place: CLLocationCoordinate2D

    /// Makes a location without checking the ranges.
    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        place = CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
    }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let location = Archive.decode(from: coder, CLLocation.init(json:)) else { return nil }
        place = location.place
    }

    open func encode(with coder: NSCoder) { Archive.encode(to: coder, write) }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool { (object as? CLLocation)?.coordinate == coordinate }

    open override var hash: Int { coordinate.hashValue }

    open override var description: String { "<\(coordinate.latitude), \(coordinate.longitude)>" }
}

extension CLLocation {
    convenience init?(json: JSONValue) {
        guard let latitude = json["latitude"]?.double, let longitude = json["longitude"]?.double else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }

    func write(into buffer: inout ByteBuffer) {
        buffer.object {
            $0.append("latitude", coordinate.latitude)
            $0.append("longitude", coordinate.longitude)
        }
    }
}
