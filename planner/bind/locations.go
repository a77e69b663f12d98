package bind

import "google.golang.org/protobuf/reflect/protoreflect"

// clearLocations zeroes every location below a message, so that two trees can be compared.
func clearLocations(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Name() == "location":
			m.Clear(fd)
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := 0; i < v.List().Len(); i++ {
				clearLocations(v.List().Get(i).Message())
			}
		default:
			clearLocations(v.Message())
		}
		return true
	})
}
